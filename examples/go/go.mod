module tenon.example/run

go 1.19
