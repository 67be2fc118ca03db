//! Recorded RTTs between many hosts.

use anyhow::Result;
use desk::bad_input::BadInput;
use flate2::read::MultiGzDecoder;
use ground::Point;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// RTTs in milliseconds; not above zero where unknown.
#[derive(Debug)]
pub struct Matrix {
    rows: Vec<Vec<f64>>,
}

impl Matrix {
    /// How many hosts.
    pub fn hosts(&self) -> usize {
        self.rows.len()
    }

    /// All of them, row by row; not above zero where unknown.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// The RTT of a pair, if known.
    pub fn rtt_ms(&self, a: usize, b: usize) -> Option<f64> {
        Some(self.rows[a][b]).filter(|&ms| ms > 0.0)
    }

    fn check(self, path: &Path) -> Result<Self, BadInput> {
        let hosts = self.rows.len();
        let wrong = self.rows.iter().position(|row| row.len() != hosts);
        if let Some(row) = wrong {
            let reason = format!("{} values in a row of {hosts} hosts", self.rows[row].len());
            return Err(BadInput::at(path, row as u64 + 1, reason));
        }
        Ok(self)
    }
}

/// `latency/planetlab_490x490_ms.txt.gz`: one row a line, separated by blanks.
pub fn planet_lab(folder: &Path) -> Result<Matrix> {
    let path = folder.join("latency/planetlab_490x490_ms.txt.gz");
    let mut text = String::new();
    let file = File::open(&path).map_err(|error| unreadable(&path, &error))?;
    let read = MultiGzDecoder::new(file).read_to_string(&mut text);
    read.map_err(|error| unreadable(&path, &error))?;
    let rows = parse(&path, &text, 1, |line| line.split_whitespace().collect())?;
    Ok(Matrix { rows }.check(&path)?)
}

/// `latency/aws_interregion_p50_ms.csv`: a header, then rows that begin with a name.
pub fn aws(folder: &Path) -> Result<Matrix> {
    let path: PathBuf = folder.join("latency/aws_interregion_p50_ms.csv");
    let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
    let body = text.split_once('\n').map_or("", |(_, body)| body);
    let mut rows = parse(&path, body, 2, |line| line.split(',').skip(1).collect())?;
    // within a region is no pair
    for (k, row) in rows.iter_mut().enumerate() {
        if let Some(own) = row.get_mut(k) {
            *own = 0.0;
        }
    }
    Ok(Matrix { rows }.check(&path)?)
}

/// `latency/aws_regions.csv`: where the nodes of [`aws`] are, in its order.
pub fn aws_places(folder: &Path) -> Result<Vec<Point>> {
    let header = folder.join("latency/aws_interregion_p50_ms.csv");
    let names = std::fs::read_to_string(&header).map_err(|error| unreadable(&header, &error))?;
    let names: Vec<&str> = names
        .lines()
        .next()
        .unwrap_or("")
        .split(',')
        .skip(1)
        .collect();
    let path = folder.join("latency/aws_regions.csv");
    let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
    let place = |name: &&str| -> Option<Point> {
        let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let row = rows.find(|row| row.first() == Some(name))?;
        let degrees = |back: usize| row.get(row.len().checked_sub(back)?)?.trim().parse().ok();
        Point::new(degrees(2)?, degrees(1)?)
    };
    let placed = names.iter().map(|name| {
        place(&name.trim()).ok_or_else(|| {
            let reason = format!("has no place of '{name}'");
            BadInput::file(&path, reason).into()
        })
    });
    placed.collect()
}

fn unreadable(path: &Path, error: &std::io::Error) -> BadInput {
    BadInput::file(path, format!("cannot be read: {error}"))
}

fn parse<'t>(
    path: &Path,
    text: &'t str,
    first: u64,
    fields: impl Fn(&'t str) -> Vec<&'t str>,
) -> Result<Vec<Vec<f64>>, BadInput> {
    let lines = (first..).zip(text.lines());
    let filled = lines.filter(|(_, line)| !line.trim().is_empty());
    filled
        .map(|(line, text)| {
            let numbers = fields(text).into_iter().map(|field| {
                let number = field.trim().parse::<f64>().ok();
                number
                    .filter(|n| n.is_finite() && *n >= 0.0)
                    .ok_or_else(|| {
                        let reason =
                            format!("'{field}' is not an RTT: expected a number of at least 0");
                        BadInput::at(path, line, reason)
                    })
            });
            numbers.collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn folder(planet_lab: &str, aws: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let latency = folder.path().join("latency");
        std::fs::create_dir(&latency).unwrap();
        let file = File::create(latency.join("planetlab_490x490_ms.txt.gz")).unwrap();
        let mut gzip = GzEncoder::new(file, flate2::Compression::fast());
        gzip.write_all(planet_lab.as_bytes()).unwrap();
        gzip.finish().unwrap();
        std::fs::write(latency.join("aws_interregion_p50_ms.csv"), aws).unwrap();
        folder
    }

    #[test]
    fn both_forms_are_read() {
        let data = folder("0\t2.5\n2.5\t0\n", "from,a,b\na,0.3,9\nb,8,0.2\n");
        let first = planet_lab(data.path()).unwrap();
        assert_eq!((first.hosts(), first.rtt_ms(0, 1)), (2, Some(2.5)));
        assert_eq!(first.rtt_ms(0, 0), None);
        let second = aws(data.path()).unwrap();
        assert_eq!(second.rtt_ms(1, 0), Some(8.0));
        assert_eq!(second.rtt_ms(1, 1), None);
    }

    #[test]
    fn errors_name_file_and_line() {
        let data = folder("0 1\n1 x\n", "from,a,b\na,0,1\nb,-1,0\n");
        let error = planet_lab(data.path()).unwrap_err().to_string();
        assert!(error.contains("planetlab_490x490_ms.txt.gz:2:"), "{error}");
        let error = aws(data.path()).unwrap_err().to_string();
        assert!(error.contains("aws_interregion_p50_ms.csv:3:"), "{error}");
        let data = folder("0 1\n1\n", "");
        assert!(planet_lab(data.path()).is_err());
        assert!(planet_lab(Path::new("/nonexistent")).is_err());
    }
}
