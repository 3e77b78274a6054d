//! The program `tilesmith`. It never creates a VkInstance: workers do.

fn main() -> std::process::ExitCode {
    tilesmith::cli::main()
}
