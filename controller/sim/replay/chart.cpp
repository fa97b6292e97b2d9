// Drawing.
#include "controller/sim/replay/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace muster {
namespace {

constexpr int kWidth = 960;
constexpr int kLeft = 80;
constexpr int kRight = 20;
constexpr int kTop = 60;
constexpr int kPanel = 140;  // Height of a panel's plot,
constexpr int kGap = 70;     // and of what is between two.
constexpr int kTicks = 4;
constexpr int kPanels = 4;
constexpr char kBlue[] = "#1f6fb2";
constexpr char kOrange[] = "#d9730d";

struct Curve {
  std::string name;
  const char* colour;
  const std::vector<double>* values;
};

struct Panel {
  std::string title;
  std::string unit;
  double scale = 1;  // Values are shown times this.
  double top = 0;    // Of the axis; 0: as high as needed.
  std::vector<Curve> lines;
};

std::string number(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string text_at(double x, double y, const std::string& text, const char* more = "") {
  return "<text x=\"" + number(x, 1) + "\" y=\"" + number(y, 1) + "\" " + more + ">" +
         escaped(text) + "</text>\n";
}

std::string line_at(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + number(x1, 1) + "\" y1=\"" + number(y1, 1) + "\" x2=\"" + number(x2, 1) +
         "\" y2=\"" + number(y2, 1) + "\" class=\"grid\"/>\n";
}

// 1, 2 or 5 times a power of ten, at least the value.
double round_up(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= value) return step * power;
  }
  return 10 * power;
}

double top_of(const Panel& panel) {
  if (panel.top > 0) return panel.top;
  double most = 0;
  for (const Curve& line : panel.lines)
    most = std::max(most, *std::max_element(line.values->begin(), line.values->end()));
  return round_up(most * panel.scale);
}

double x_of(double part) { return kLeft + part * (kWidth - kLeft - kRight); }

std::string axes(double y, double top, Duration window) {
  std::string out;
  for (int i = 0; i <= kTicks; ++i) {
    const double at = y + kPanel - double{kPanel} * i / kTicks;
    const double value = top * i / kTicks;
    out += line_at(kLeft, at, kWidth - kRight, at);
    out += text_at(kLeft - 8, at + 4, number(value, top < 10 ? 2 : 0), "text-anchor=\"end\"");
  }
  const double days = static_cast<double>(window.us) / 86400e6;
  const double step = round_up(days / 10);
  for (double day = 0; day <= days * 1.0001; day += step) {
    const double x = x_of(day / days);
    out += line_at(x, y, x, y + kPanel);
    out += text_at(x, y + kPanel + 16, number(day, step < 1 ? 1 : 0), "text-anchor=\"middle\"");
  }
  out += text_at(kWidth - kRight, y + kPanel + 32, "days", "text-anchor=\"end\"");
  return out;
}

std::string curve(const Curve& line, double scale, double y, double top) {
  std::string out = "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"";
  out += line.colour;
  out += "\" points=\"";
  for (std::size_t i = 0; i < line.values->size(); ++i) {
    const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(line.values->size());
    const double height = std::min(1.0, (*line.values)[i] * scale / top);
    out += number(x_of(part), 1) + "," + number(y + kPanel - height * kPanel, 1) + " ";
  }
  return out + "\"/>\n";
}

std::string panel_at(double y, const Panel& panel, Duration window) {
  const double top = top_of(panel);
  std::string out = text_at(kLeft, y - 12, panel.title + ", " + panel.unit, "class=\"name\"");
  out += axes(y, top, window);
  double x = kWidth - kRight;
  for (auto line = panel.lines.rbegin(); line != panel.lines.rend(); ++line) {
    out += curve(*line, panel.scale, y, top);
    if (panel.lines.size() == 1) break;
    const std::string more = std::string("text-anchor=\"end\" fill=\"") + line->colour + "\"";
    out += text_at(x, y - 12, line->name, more.c_str());
    x -= 8.0 * static_cast<double>(line->name.size()) + 20;
  }
  return out;
}

}  // namespace

std::string svg_of(const ChartSeries& series, Duration window, const std::string& title) {
  const std::array<Panel, kPanels> panels{{
      {"GPUs in use", "% of all", 100, 100, {{"", kBlue, &series.in_use}}},
      {"Jobs waiting", "number", 1, 0, {{"", kBlue, &series.jobs_waiting}}},
      {"GPUs that waiting jobs ask for", "% of all", 100, 0, {{"", kBlue, &series.gpus_waiting}}},
      {"Got of an even share",
       "%, of owners who wanted GPUs",
       100,
       100,
       {{"mean", kBlue, &series.fair_mean}, {"least", kOrange, &series.fair_least}}},
  }};
  const int height = kTop + kPanels * (kPanel + kGap);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
                    std::to_string(kWidth) + " " + std::to_string(height) + "\" width=\"" +
                    std::to_string(kWidth) + "\" height=\"" + std::to_string(height) +
                    "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                    "<style>.grid{stroke:#ddd}.name{font-weight:bold}</style>\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  out += text_at(kLeft, 24, title, "font-size=\"16\"");
  double y = kTop;
  for (const Panel& panel : panels) {
    out += panel_at(y, panel, window);
    y += kPanel + kGap;
  }
  return out + "</svg>\n";
}

std::string html_of(const std::string& svg, const std::string& title, const std::string& report) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>" +
         escaped(title) + "</title></head>\n<body>\n" + svg + "<pre>" + escaped(report) +
         "</pre>\n</body>\n</html>\n";
}

}  // namespace muster
