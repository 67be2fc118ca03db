//! `evercrawl netmap sample-size`: how many samples for a margin of error, or the other way round.

use crate::bad_input::BadInput;
use crate::terminal::{self, grouped, short};
use anyhow::Result;
use netmap::sampling::{margin_of_error, sample_size, z_of_confidence};

/// Above it not every number is one of its own in floating point.
const COUNTABLE: u64 = 1 << 53;

/// Tell how many samples a margin of error needs, or the margin of a sample.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("question").required(true).args(["margin", "samples"]))]
pub struct Arguments {
    /// Standard deviation of what is sampled, in the unit of the margin
    #[arg(long, value_name = "SIGMA")]
    sigma: f64,

    /// Wanted margin of error of the mean
    #[arg(long, value_name = "E")]
    margin: Option<f64>,

    /// Samples taken
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    samples: Option<u64>,

    /// Size of the population; infinite when absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    population: Option<u64>,

    /// Confidence that the mean lies within the margin
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    confidence: f64,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let Arguments {
        sigma, confidence, ..
    } = *arguments;
    let positive = |name: &str, value: f64| {
        let good = value.is_finite() && value > 0.0;
        let reason = || BadInput(format!("--{name} is {value}: expected a number above 0"));
        if good { Ok(()) } else { Err(reason()) }
    };
    positive("sigma", sigma)?;
    if !(confidence > 0.0 && confidence < 1.0) {
        let reason = format!("--confidence is {confidence}: expected a number between 0 and 1");
        return Err(BadInput(reason).into());
    }
    let z = z_of_confidence(confidence);
    let population = arguments.population;
    let (samples, margin) = match (arguments.margin, arguments.samples) {
        (Some(margin), _) => {
            positive("margin", margin)?;
            let samples = sample_size(z, sigma, margin, population);
            if samples > COUNTABLE {
                let reason =
                    format!("--margin is {margin}: it takes more samples than can be counted");
                return Err(BadInput(reason).into());
            }
            (samples, margin)
        }
        (None, samples) => {
            let samples = samples.unwrap_or(1);
            if population.is_some_and(|all| samples > all) {
                let reason = format!("--samples is {samples}: more than the population");
                return Err(BadInput(reason).into());
            }
            let margin = margin_of_error(z, sigma, samples, population);
            if !margin.is_finite() {
                let reason = format!("--sigma is {sigma}: the margin is larger than any number");
                return Err(BadInput(reason).into());
            }
            (samples, margin)
        }
    };
    let text = if arguments.json {
        let json = serde_json::json!({
            "samples": samples,
            "margin": margin,
            "sigma": sigma,
            "population": population,
            "confidence": confidence,
            "z": z,
        });
        serde_json::to_string_pretty(&json)? + "\n"
    } else {
        let all = population.map_or_else(|| "infinite".to_owned(), |all| grouped(all as usize));
        format!(
            "samples          {}\nmargin of error  {}\nsigma            {}\npopulation       {all}\n\
             confidence       {} (Z = {})\n",
            grouped(samples as usize),
            short(margin),
            short(sigma),
            short(confidence),
            short(z)
        )
    };
    Ok(terminal::print(&text)?)
}
