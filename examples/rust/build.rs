// TENON_LIB_DIR: the folder of libtenon.so, where that is not one of the linker's.
fn main() {
    println!("cargo:rerun-if-env-changed=TENON_LIB_DIR");
    if let Ok(folder) = std::env::var("TENON_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
