//! Preconditions of a request: `If-Match` and `If-None-Match`, whose entity tags are sequence numbers.

use super::problem::Problem;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use terrane::Seq;

/// Versions that a header names.
enum Tags {
    Any,
    /// Numbers; a tag that is none matches nothing.
    These(Vec<Seq>),
}

impl Tags {
    fn match_version(&self, version: Option<Seq>) -> bool {
        match self {
            Tags::Any => version.is_some(),
            Tags::These(tags) => version.is_some_and(|version| tags.contains(&version)),
        }
    }
}

/// The versions that a key must have, or must not have.
pub(crate) struct Precondition {
    matches: Option<Tags>,
    matches_none: Option<Tags>,
}

/// A precondition that is one condition of the store.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Simple {
    Absent,
    Present,
    Version(Seq),
}

impl Precondition {
    /// Reads the headers of a request.
    pub fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        Ok(Precondition {
            matches: tags(headers, header::IF_MATCH, false)?,
            matches_none: tags(headers, header::IF_NONE_MATCH, true)?,
        })
    }

    /// Whether the request has none.
    pub fn is_empty(&self) -> bool {
        self.matches.is_none() && self.matches_none.is_none()
    }

    /// Returns the condition of the store that means the same, if there is one.
    pub fn simple(&self) -> Option<Simple> {
        match (&self.matches, &self.matches_none) {
            (Some(Tags::Any), None) => Some(Simple::Present),
            (None, Some(Tags::Any)) => Some(Simple::Absent),
            (Some(Tags::These(tags)), None) => match tags.as_slice() {
                [version] => Some(Simple::Version(*version)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Checks the precondition of a write on the version that the key has.
    pub fn check(&self, version: Option<Seq>) -> Result<(), Problem> {
        let is_matched = self.matches.as_ref().is_none_or(|tags| tags.match_version(version));
        let is_unmatched = !self.is_unmodified(version);
        if is_matched && is_unmatched { Ok(()) } else { Err(failed(version)) }
    }

    /// Checks the precondition of a read. Returns whether its client has this version already.
    pub fn check_read(&self, version: Option<Seq>) -> Result<bool, Problem> {
        if self.matches.as_ref().is_some_and(|tags| !tags.match_version(version)) {
            return Err(failed(version));
        }
        Ok(self.is_unmodified(version))
    }

    fn is_unmodified(&self, version: Option<Seq>) -> bool {
        self.matches_none.as_ref().is_some_and(|tags| tags.match_version(version))
    }
}

/// Refuses a precondition where no key has a version: it would have no effect.
pub(crate) async fn refuse(request: Request, next: Next) -> Result<Response, Problem> {
    for name in [header::IF_MATCH, header::IF_NONE_MATCH] {
        if request.headers().contains_key(&name) {
            let expected = "none: it applies to /v1/KEYSPACE/keys/KEY, and conditions of a batch \
                            are in its body, as \"if\"";
            return Err(Problem::malformed("the precondition", expected, name.as_str()));
        }
    }
    Ok(next.run(request).await)
}

/// Returns the entity tag of a version.
pub(crate) fn etag(version: Seq) -> HeaderValue {
    // Digits in quotes are a header's value.
    HeaderValue::try_from(format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Returns the problem of a precondition that does not hold, with the version that the key has.
pub(crate) fn failed(version: Option<Seq>) -> Problem {
    let problem = Problem::new(
        StatusCode::PRECONDITION_FAILED,
        "precondition-failed",
        "nothing was written: the key has another version",
    );
    match version {
        Some(version) => {
            problem.found(format!("\"{version}\"")).header(header::ETAG, etag(version))
        }
        None => problem.found("no value"),
    }
}

/// Reads the entity tags of a header. Weak ones are as good as strong ones if `weak`, and otherwise match nothing.
fn tags(
    headers: &HeaderMap,
    name: header::HeaderName,
    weak: bool,
) -> Result<Option<Tags>, Problem> {
    let mut tags = None;
    for value in headers.get_all(&name) {
        let text = value.to_str().unwrap_or_default();
        if text.trim() == "*" {
            return Ok(Some(Tags::Any));
        }
        let these = tags.get_or_insert_with(Vec::new);
        for tag in text.split(',') {
            let tag = tag.trim();
            let (is_weak, quoted) = match tag.strip_prefix("W/") {
                Some(quoted) => (true, quoted),
                None => (false, tag),
            };
            let opaque = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let opaque = opaque.ok_or_else(|| {
                Problem::malformed(name.as_str(), "* or tags such as \"12\"", tag)
            })?;
            // Another spelling of a number is another tag.
            let version = opaque.parse().ok().filter(|version: &Seq| version.to_string() == opaque);
            these.extend(version.filter(|_| weak || !is_weak));
        }
    }
    Ok(tags.map(Tags::These))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(matches: Option<&str>, none: Option<&str>) -> Precondition {
        let mut headers = HeaderMap::new();
        let mut set = |name, value: Option<&str>| {
            value.map(|value| headers.insert(name, value.try_into().unwrap()))
        };
        set(header::IF_MATCH, matches);
        set(header::IF_NONE_MATCH, none);
        Precondition::of(&headers).unwrap()
    }

    #[test]
    fn one_tag_or_a_star_is_a_condition_of_the_store() {
        assert_eq!(of(Some("\"5\""), None).simple(), Some(Simple::Version(5)));
        assert_eq!(of(Some("*"), None).simple(), Some(Simple::Present));
        assert_eq!(of(None, Some("*")).simple(), Some(Simple::Absent));
        assert_eq!(of(Some("\"5\", \"6\""), None).simple(), None);
        assert_eq!(of(None, Some("\"5\"")).simple(), None);
        assert_eq!(of(Some("\"none\""), None).simple(), None);
    }

    #[test]
    fn several_tags_match_any_of_their_versions() {
        let any = of(Some("\"5\", \"7\""), None);
        assert!(any.check(Some(5)).is_ok() && any.check(Some(7)).is_ok());
        assert!(any.check(Some(6)).is_err() && any.check(None).is_err());
        let none = of(None, Some("\"5\", W/\"7\""));
        assert!(none.check(Some(5)).is_err() && none.check(Some(7)).is_err());
        assert!(none.check(Some(6)).is_ok() && none.check(None).is_ok());
    }

    #[test]
    fn weak_tags_match_for_reads_alone() {
        assert!(of(Some("W/\"5\""), None).check(Some(5)).is_err());
        assert!(of(None, Some("W/\"5\"")).check_read(Some(5)).unwrap());
    }

    #[test]
    fn another_spelling_of_a_number_is_another_tag() {
        for tag in ["\"05\"", "\"+5\"", "\" 5\""] {
            assert!(of(Some(tag), None).check(Some(5)).is_err(), "{tag}");
        }
    }

    #[test]
    fn a_tag_without_quotes_is_malformed() {
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_MATCH, HeaderValue::from_static("5"));
        assert!(Precondition::of(&headers).is_err());
    }
}
