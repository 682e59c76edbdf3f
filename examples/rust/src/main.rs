//! run PLUGIN PROGRAM: runs examples/program.mlir by Tenon's C interface and prints what it gives.
mod tenon;

fn run(plugin: &str, path: &str) -> tenon::Result<()> {
    let text = std::fs::read(path).map_err(|e| format!("{path}: {e}"))?;
    let client = tenon::Client::new(plugin)?;
    let program = client.compile(&text)?;
    let x = client.to_device(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
    let w = client.to_device(&[0.1, -0.2, 0.3, 0.05, -0.15, 0.25], &[3, 2])?;
    let outputs = program.run(&[&x, &w])?;
    let (y, sum) = (outputs[0].to_host()?, outputs[1].to_host()?);
    println!("{:.6} {:.6} {:.6} {:.6} sum {:.6}", y[0], y[1], y[2], y[3], sum[0]);
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() < 3 {
        eprintln!("usage: {} PLUGIN PROGRAM", arguments[0]);
        std::process::exit(2);
    }
    if let Err(message) = run(&arguments[1], &arguments[2]) {
        eprintln!("{message}");
        std::process::exit(1);
    }
}
