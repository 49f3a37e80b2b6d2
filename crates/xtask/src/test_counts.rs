//! Numbers of passed tests, from the summaries that test runners print.

/// Returns the number of passed tests in a line of a runner's summary: cargo's (`test result: ok. 3 passed;`),
/// vitest's (`Tests  3 passed (3)`), Playwright's (`3 passed (1.2s)`) and Node's (`# pass 3`).
pub fn passed_in(line: &str) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["test", "result:", _, count, "passed;", ..]
        | ["Tests", count, "passed", ..]
        | [count, "passed", ..]
        | [_, "pass", count] => count.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::passed_in;

    #[test]
    fn the_summaries_of_all_runners_are_counted_once() {
        assert_eq!(passed_in("test result: ok. 12 passed; 0 failed; 0 ignored"), Some(12));
        assert_eq!(passed_in("  3 passed (4.2s)"), Some(3));
        assert_eq!(passed_in(" Test Files  2 passed (2)"), None);
        assert_eq!(passed_in("      Tests  9 passed | 1 skipped (10)"), Some(9));
        assert_eq!(passed_in("# pass 7"), Some(7));
        assert_eq!(passed_in("ℹ pass 7"), Some(7));
        assert_eq!(passed_in("test a_test_that_passed ... ok"), None);
    }
}
