//! Places in host names: airport codes, cities, institutions.

use super::{Heuristic, Place};
use ground::Point;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Shorter names of cities are too often something else.
const LEAST_LETTERS: usize = 5;

/// A city of the bundled table.
#[derive(Clone, Debug)]
pub struct City {
    /// As people write it.
    pub name: &'static str,
    /// Two letters.
    pub country: &'static str,
    /// Its middle.
    pub point: Point,
}

/// Large cities, the largest first.
pub fn cities() -> &'static [City] {
    static CITIES: LazyLock<Vec<City>> = LazyLock::new(|| {
        let table = include_str!("../data/cities.csv");
        let city = |line: &'static str| {
            let (name, rest) = line.split_once(',')?;
            row(name, rest)
        };
        table.lines().skip(1).filter_map(city).collect()
    });
    &CITIES
}

/// What a host name says about the host's place; at most one answer of each heuristic.
pub fn from_name(host: &str) -> Vec<Place> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let domain = suffixes::registrable(&host).unwrap_or(&host);
    let own = host
        .strip_suffix(domain)
        .unwrap_or("")
        .trim_end_matches('.');
    let institution = INSTITUTIONS.get(domain);
    [
        (Heuristic::Airport, airport(own)),
        (Heuristic::Institution, institution),
        (Heuristic::City, city(own, domain)),
    ]
    .into_iter()
    .filter_map(|(heuristic, found)| {
        found.map(|city| Place {
            heuristic,
            point: city.point,
            city: Some(city.name.to_owned()),
            country: Some(city.country.to_owned()),
        })
    })
    .collect()
}

type Table = HashMap<&'static str, City>;

static AIRPORTS: LazyLock<Table> = LazyLock::new(|| table(include_str!("../data/airports.csv")));
static INSTITUTIONS: LazyLock<Table> =
    LazyLock::new(|| table(include_str!("../data/institutions.csv")));
/// Cities by their letters alone.
static BY_LETTERS: LazyLock<HashMap<String, Vec<&'static City>>> = LazyLock::new(|| {
    let mut found: HashMap<String, Vec<&City>> = HashMap::new();
    for city in cities() {
        found.entry(letters(city.name)).or_default().push(city);
    }
    found
});

/// Rows of key, city, country, latitude, longitude after a header.
fn table(text: &'static str) -> Table {
    let rows = text.lines().skip(1);
    rows.filter_map(|line| {
        let (key, rest) = line.split_once(',')?;
        let (name, rest) = rest.split_once(',')?;
        Some((key, row(name, rest)?))
    })
    .collect()
}

fn row(name: &'static str, rest: &'static str) -> Option<City> {
    let mut fields = rest.split(',');
    let country = fields.next()?;
    let mut number = || fields.next()?.parse().ok();
    let point = Point::new(number()?, number()?)?;
    Some(City {
        name,
        country,
        point,
    })
}

/// An airport code that is a label or a part of one between hyphens, alone or before digits. Alone
/// it counts only in names of several labels, as routers have.
fn airport(own: &str) -> Option<&'static City> {
    let deep = own.contains('.');
    own.rsplit('.').find_map(|label| {
        label.split('-').find_map(|part| {
            let code = part.get(..3)?;
            let rest = &part[3..];
            let counts = match rest.bytes().next() {
                None => deep,
                Some(first) => first.is_ascii_digit(),
            };
            counts.then(|| AIRPORTS.get(code)).flatten()
        })
    })
}

/// A city named by a label, by a part of one, or by neighbouring parts: `new-york`.
fn city(own: &str, domain: &str) -> Option<&'static City> {
    let country = domain.rsplit('.').next().unwrap_or_default();
    own.rsplit('.').find_map(|label| {
        let parts: Vec<&str> = label
            .split('-')
            .map(|part| part.trim_end_matches(|c: char| c.is_ascii_digit()))
            .collect();
        // the longest run of parts first
        (1..=parts.len()).rev().find_map(|length| {
            parts.windows(length).find_map(|run| {
                let name: String = run.concat();
                let found = BY_LETTERS
                    .get(&name)
                    .filter(|_| name.len() >= LEAST_LETTERS)?;
                let at_home = found.iter().find(|city| is_country(country, city.country));
                at_home.or(found.first()).copied()
            })
        })
    })
}

/// Whether a top-level domain is a country's.
fn is_country(domain: &str, country: &str) -> bool {
    domain.eq_ignore_ascii_case(country) || (domain == "uk" && country == "GB")
}

/// Lower-case letters without accents, spaces and points: `São Paulo` is `saopaulo`.
fn letters(name: &str) -> String {
    name.chars()
        .flat_map(char::to_lowercase)
        .filter_map(|c| match c {
            'a'..='z' => Some(c),
            'á' | 'à' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => Some('a'),
            'ç' | 'ć' | 'č' => Some('c'),
            'é' | 'è' | 'ê' | 'ë' | 'ē' | 'ę' | 'ė' => Some('e'),
            'í' | 'ì' | 'î' | 'ï' | 'ī' | 'ı' => Some('i'),
            'ł' => Some('l'),
            'ñ' | 'ń' | 'ň' => Some('n'),
            'ó' | 'ò' | 'ô' | 'õ' | 'ö' | 'ø' | 'ō' => Some('o'),
            'ś' | 'š' | 'ş' | 'ș' => Some('s'),
            'ţ' | 'ț' => Some('t'),
            'ú' | 'ù' | 'û' | 'ü' | 'ū' => Some('u'),
            'ź' | 'ż' | 'ž' => Some('z'),
            'ğ' => Some('g'),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, expected: &[(Heuristic, &str, &str)]) {
        let found = from_name(host);
        let found: Vec<_> = found
            .iter()
            .map(|p| {
                (
                    p.heuristic,
                    p.city.as_deref().unwrap(),
                    p.country.as_deref().unwrap(),
                )
            })
            .collect();
        assert_eq!(found, expected, "{host}");
    }

    #[test]
    fn names_say_where() {
        use Heuristic::{Airport, City, Institution};
        check(
            "fra16s50.net.example.com",
            &[(Airport, "Frankfurt am Main", "DE")],
        );
        check("ae-1.r02.lhr.isp.net", &[(Airport, "London", "GB")]);
        check("xe0-lis1.core.isp.pt.", &[(Airport, "Lisbon", "PT")]);
        check("www.uminho.pt", &[(Institution, "Braga", "PT")]);
        check("cs.cam.ac.uk", &[(Institution, "Cambridge", "GB")]);
        check(
            "ae1.newyork2.level.example.net",
            &[(City, "New York", "US")],
        );
        check("core1-new-york.isp.net", &[(City, "New York", "US")]);
        check("gw.saopaulo.isp.com.br", &[(City, "São Paulo", "BR")]);
        check(
            "cr1.zrh2.zuerich.isp.ch",
            &[(Airport, "Zürich", "CH"), (City, "Zuerich", "CH")],
        );
    }

    #[test]
    fn the_country_of_the_domain_decides_between_namesakes() {
        check("valencia.isp.es", &[(Heuristic::City, "Valencia", "ES")]);
        check("valencia.isp.co.ve", &[(Heuristic::City, "Valencia", "VE")]);
        check(
            "birmingham.isp.co.uk",
            &[(Heuristic::City, "Birmingham", "GB")],
        );
    }

    #[test]
    fn names_that_say_nothing() {
        for host in [
            "www.example.com",
            "man.example.com",
            "paris.com",
            "lima.net",
            "fra.io",
            "",
            ".",
            "ünï.example",
            "a-ü1.b.example.com",
        ] {
            check(host, &[]);
        }
    }

    #[test]
    fn all_rows_of_the_tables_can_be_read() {
        for (text, count) in [
            (include_str!("../data/cities.csv"), cities().len()),
            (include_str!("../data/airports.csv"), AIRPORTS.len()),
            (include_str!("../data/institutions.csv"), INSTITUTIONS.len()),
        ] {
            assert_eq!(text.lines().count() - 1, count);
        }
    }
}
