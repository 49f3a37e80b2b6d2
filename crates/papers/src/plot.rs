//! Plots, as SVG.
//!
//! Our curves are solid lines with a mark at each point; the equation for the same quantity is dashed
//! in the same colour. The legend is beside the axes, where it covers nothing.

use crate::figure::{Bars, Curve, Plot};
use plotters::prelude::*;

const SIZE: (u32, u32) = (760, 400);
/// Space for the legend, right of the axes.
const KEY_WIDTH: i32 = 190;
/// The line height of the legend.
const LINE: i32 = 20;
/// Colour-blind-safe colours, after Okabe and Ito; those after the first seven are darker or lighter ones.
const COLORS: [RGBColor; 11] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(240, 228, 66),
    RGBColor(110, 60, 0),
    RGBColor(150, 150, 150),
    RGBColor(0, 60, 110),
];

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
    let (left, key) = area.split_horizontally(i32::try_from(SIZE.0)? - KEY_WIDTH);
    let mut chart = ChartBuilder::on(&left)
        .caption(title, ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(38)
        .y_label_area_size(48)
        .build_cartesian_2d(least..most(|(x, _)| x), 0.0..most(|(_, y)| y) * 1.1)?;
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).bold_line_style(BLACK.mix(0.12));
    mesh.x_desc(plot.x).y_desc(plot.y).label_style(("sans-serif", 12));
    mesh.x_label_formatter(&|x| short(*x)).y_label_formatter(&|y| short(*y)).draw()?;

    let names = names(plot);
    for curve in &plot.curves {
        let Some(color) = color(&names, curve) else { continue };
        let points = curve.points.iter().copied();
        if curve.equation {
            chart.draw_series(DashedLineSeries::new(points, 5, 4, color.stroke_width(1)))?;
        } else {
            chart.draw_series(LineSeries::new(points.clone(), color.stroke_width(2)))?;
            chart.draw_series(points.map(|at| Circle::new(at, 3, color.filled())))?;
        }
    }
    for (at, curve) in (2..).zip(&plot.curves) {
        let Some(color) = color(&names, curve) else { continue };
        let (y, dashes) = (at * LINE, [(0, 7), (10, 17), (20, 27)]);
        let strokes: &[(i32, i32)] = if curve.equation { &dashes } else { &[(0, 27)] };
        for (from, to) in strokes {
            key.draw(&PathElement::new([(*from, y), (*to, y)], color.stroke_width(2)))?;
        }
        let text = format!("{}{}", curve.name, if curve.equation { ", equation" } else { "" });
        key.draw(&Text::new(text, (34, y - 6), ("sans-serif", 12)))?;
    }
    area.present()?;
    Ok(())
}

/// Draws bars side by side.
pub(crate) fn draw_bars(title: &str, bars: &Bars) -> Result<String, String> {
    let mut svg = String::new();
    draw_bars_into(&mut svg, title, bars).map_err(|e| e.to_string())?;
    Ok(svg)
}

/// The width of a group, of which the rest is space between groups.
const GROUP: f64 = 0.8;

fn draw_bars_into(
    svg: &mut String,
    title: &str,
    bars: &Bars,
) -> Result<(), Box<dyn std::error::Error>> {
    let values = bars.series.iter().flat_map(|(_, values)| values.iter().flatten().copied());
    let most = values.fold(0.0, f64::max);
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (left, key) = area.split_horizontally(i32::try_from(SIZE.0)? - KEY_WIDTH);
    let mut chart = ChartBuilder::on(&left)
        .caption(title, ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(38)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..bars.groups.len() as f64, 0.0..most * 1.1)?;
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).bold_line_style(BLACK.mix(0.12)).disable_x_mesh();
    mesh.disable_x_axis().y_desc(bars.y).label_style(("sans-serif", 12));
    mesh.y_label_formatter(&|y| short(*y)).draw()?;
    let width = GROUP / bars.series.len().max(1) as f64;
    for (number, (name, values)) in bars.series.iter().enumerate() {
        let color = COLORS.get(number % COLORS.len()).copied().unwrap_or(BLACK);
        for (group, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let from = group as f64 + (1.0 - GROUP) / 2.0 + number as f64 * width;
            let corners = [(from, 0.0), (from + width * 0.92, *value)];
            chart.draw_series([Rectangle::new(corners, color.filled())])?;
        }
        let y = (i32::try_from(number)? + 2) * LINE;
        key.draw(&Rectangle::new([(0, y - 5), (27, y + 5)], color.filled()))?;
        key.draw(&Text::new(name.clone(), (34, y - 6), ("sans-serif", 12)))?;
    }
    for (group, name) in bars.groups.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(group as f64 + (1.0 - GROUP) / 2.0, 0.0));
        left.draw(&Text::new(name.clone(), (x, y + 8), ("sans-serif", 12)))?;
    }
    area.present()?;
    Ok(())
}

/// A number with at most two decimals.
fn short(value: f64) -> String {
    ((value * 100.0).round() / 100.0).to_string()
}

/// The labels of the curves.
fn names(plot: &Plot) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for curve in &plot.curves {
        if !names.contains(&curve.name.as_str()) {
            names.push(&curve.name);
        }
    }
    names
}

fn color(names: &[&str], curve: &Curve) -> Option<RGBColor> {
    let at = names.iter().position(|name| *name == curve.name)?;
    COLORS.get(at % COLORS.len()).copied()
}
