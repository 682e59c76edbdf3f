name mock
match file *conformance_mock.so
