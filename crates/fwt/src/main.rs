//! fwt
fn main() {}
