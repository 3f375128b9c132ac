import { BarChart, LineChart } from 'echarts/charts';
import type { BarSeriesOption, LineSeriesOption } from 'echarts/charts';
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components';
import * as echarts from 'echarts/core';
import type { EChartsCoreOption } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { Plot } from '../result/result.ts';

echarts.use([BarChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

const WIDTH = 760;
const HEIGHT = 380;
/** Mid-tones, readable on white and on black: the plot has no background of its own. */
const TEXT = '#7d8590';
const GRID = '#7d859055';
const COLOURS = ['#3b82f6', '#f59e0b', '#10b981', '#ef4444', '#8b5cf6', '#06b6d4', '#84cc16'];

/** The plot as an SVG document without scripts or external references. */
export function plotSvg(plot: Plot): string {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: HEIGHT });
  chart.setOption(optionOf(plot));
  // Removes the effects of a pointer: an image has none.
  const svg = chart.renderToSVGString().replace(/<style[\s\S]*<\/style>\s*/, '');
  chart.dispose();
  return `${svg}\n`;
}

function optionOf(plot: Plot): EChartsCoreOption {
  const text = { color: TEXT, fontSize: 13 };
  const axis = {
    nameLocation: 'middle',
    nameTextStyle: text,
    axisLabel: text,
    axisLine: { show: true, lineStyle: { color: TEXT } },
    splitLine: { lineStyle: { color: GRID } },
  };
  return {
    animation: false,
    backgroundColor: 'transparent',
    color: COLOURS,
    title: {
      text: plot.title,
      left: 'center',
      textStyle: { color: TEXT, fontSize: 15, fontWeight: 'normal' },
    },
    legend: { show: plot.series.length > 1, top: 32, itemGap: 40, textStyle: text },
    grid: { left: 75, right: 30, top: plot.series.length > 1 ? 65 : 45, bottom: 55 },
    xAxis: { ...axis, nameGap: 32, name: plot.xLabel, ...xAxisOf(plot) },
    yAxis: { ...axis, nameGap: 52, name: plot.yLabel, type: isLogarithmic(plot) ? 'log' : 'value' },
    series: seriesOf(plot),
  };
}

function xAxisOf(plot: Plot): object {
  if (plot.kind === 'lines') return { type: 'value', min: 0, max: 'dataMax' };
  return { type: 'category', data: plot.categories, splitLine: { show: false } };
}

function seriesOf(plot: Plot): (BarSeriesOption | LineSeriesOption)[] {
  if (plot.kind === 'bars') {
    return plot.series.map(({ name, values }) => ({
      type: 'bar',
      name,
      data: [...values],
      barMaxWidth: 80,
      ...(plot.stacked ? { stack: 'all' } : {}),
    }));
  }
  return plot.series.map(({ name, points }) => ({
    type: 'line',
    name,
    symbol: 'circle',
    showSymbol: points.length < 30,
    data: points.map(([x, y]) => [x, y]),
  }));
}

function isLogarithmic(plot: Plot): boolean {
  return plot.kind === 'lines' && plot.logarithmic;
}
