//! Published relations and whether they come out.

use serde::Serialize;

/// Whether a published relation comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// It does.
    #[serde(rename = "holds")]
    Holds,
    /// The direction does, the size does not.
    #[serde(rename = "differs")]
    Differs,
    /// It does not.
    #[serde(rename = "does not hold")]
    Fails,
}

impl Verdict {
    /// Holds or does not.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// Holds, or at least in its direction, or not at all.
    pub fn graded(holds: bool, direction: bool) -> Self {
        match (holds, direction) {
            (true, _) => Self::Holds,
            (false, true) => Self::Differs,
            (false, false) => Self::Fails,
        }
    }

    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::Fails => "does not hold",
        }
    }
}

/// A published relation, what came out here, and the verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Relation {
    /// What was published or is claimed.
    pub published: String,
    /// What came out.
    pub ours: String,
    /// Whether they agree.
    pub verdict: Verdict,
}

impl Relation {
    /// A relation and its verdict.
    pub fn new(published: impl Into<String>, ours: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            published: published.into(),
            ours: ours.into(),
            verdict,
        }
    }
}

/// Differences of freshness in points, one for each label: `20 % −1.23, 40 % +0.10`.
pub fn points<'a>(differences: impl IntoIterator<Item = (&'a str, f64)>) -> String {
    let one = |(label, difference): (&str, f64)| format!("{label}: {:+.2}", 100.0 * difference);
    let all: Vec<String> = differences.into_iter().map(one).collect();
    format!("{} points", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_graded() {
        assert_eq!(Verdict::graded(true, true), Verdict::Holds);
        assert_eq!(Verdict::graded(false, true), Verdict::Differs);
        assert_eq!(Verdict::graded(false, false), Verdict::Fails);
    }

    #[test]
    fn points_have_signs() {
        let text = points([("1 %", 0.012_34), ("10 %", -0.2)]);
        assert_eq!(text, "1 %: +1.23, 10 %: -20.00 points");
    }
}
