//! What people call control groups.

/// What people call a group: the last part of its path, of which the number of a container is cut to what container engines show.
pub fn group_name(path: &str) -> String {
    /// Container engines number with 64 hexadecimal digits and show 12.
    const LONG: usize = 64;
    const SHOWN: usize = 12;
    let last = path.rsplit('/').find(|part| !part.is_empty());
    let Some(last) = last else {
        return "the root group".to_owned();
    };
    let is_digit = |c: char| c.is_ascii_hexdigit();
    let number = last
        .split(|c| !is_digit(c))
        .find(|digits| digits.len() == LONG);
    match number {
        Some(number) => last.replace(number, &number[..SHOWN]),
        None => last.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::group_name;

    #[test]
    fn groups_have_the_names_that_people_use() {
        let number = "0123456789abcdef".repeat(4);
        for (path, name) in [
            ("/system.slice/nginx.service", "nginx.service"),
            (
                &format!("/system.slice/docker-{number}.scope"),
                "docker-0123456789ab.scope",
            ),
            (&format!("/docker/{number}"), "0123456789ab"),
            ("/jobs/nightly/", "nightly"),
            ("/", "the root group"),
        ] {
            assert_eq!(group_name(path), name);
        }
    }
}
