//! Plots, as SVG.

use crate::figure::Plot;
use plotters::prelude::*;

const SIZE: (u32, u32) = (720, 420);

/// Draws the curves of a plot.
pub(crate) fn draw(title: &str, plot: &Plot) -> Result<String, String> {
    let mut svg = String::new();
    draw_into(&mut svg, title, plot).map_err(|e| e.to_string())?;
    Ok(svg)
}

fn draw_into(svg: &mut String, title: &str, plot: &Plot) -> Result<(), Box<dyn std::error::Error>> {
    let points = || plot.curves.iter().flat_map(|curve| curve.points.iter().copied());
    let most = |of: fn((f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
    let least = points().map(|(x, _)| x).fold(f64::INFINITY, f64::min);
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d(least..most(|(x, _)| x), 0.0..most(|(_, y)| y) * 1.1)?;
    chart.configure_mesh().light_line_style(WHITE).x_desc(plot.x).y_desc(plot.y).draw()?;
    for (index, curve) in plot.curves.iter().enumerate() {
        let color = Palette99::pick(index).to_rgba();
        chart
            .draw_series(LineSeries::new(curve.points.iter().copied(), color.stroke_width(2)))?
            .label(&curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}
