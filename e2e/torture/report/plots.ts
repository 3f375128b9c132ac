import type { ExperimentResult } from '../harness/run-experiment.ts';
import { inSeconds } from './result.ts';

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
  /** A thin outline behind the bar: the most that it may be. */
  readonly bound?: number;
}

// Sizes in pixels.
const ROW = 22;
const LEFT = 330;
const WIDTH = 760;
const TOP = 40;
const TEXT_SPACE = 110;
/** Characters. */
const LABEL_LENGTH_MAX = 52;

/** How long the system took, after the last fault had healed, to attempt everything that was due. */
export function recoveryPlot(results: readonly ExperimentResult[]): string {
  const bars = results.flatMap((result): Bar[] => {
    const ms = result.figures?.recoveryMs;
    if (ms == null) return [];
    return [{ label: labelOf(result), value: ms, text: inSeconds(ms) }];
  });
  return barPlot('Recovery after the last fault', bars);
}

/** Requests that were made twice, beside the attempts in flight at faults that may repeat them. */
export function repeatsPlot(results: readonly ExperimentResult[]): string {
  const bars = results.flatMap((result): Bar[] => {
    const { figures } = result;
    if (figures === null) return [];
    const { duplicates, inFlightAtFaults } = figures;
    return [
      {
        label: labelOf(result),
        value: duplicates,
        bound: inFlightAtFaults,
        text: `${duplicates} of ${inFlightAtFaults}`,
      },
    ];
  });
  return barPlot('Duplicates (filled) and the attempts in flight at faults (outline)', bars);
}

function labelOf({ number, title }: ExperimentResult): string {
  const text = `${number} ${title}`;
  return text.length > LABEL_LENGTH_MAX ? `${text.slice(0, LABEL_LENGTH_MAX - 1)}…` : text;
}

function barPlot(title: string, bars: readonly Bar[]): string {
  const most = Math.max(1, ...bars.map((bar) => Math.max(bar.value, bar.bound ?? 0)));
  const length = (value: number): string => ((value / most) * (WIDTH - LEFT - TEXT_SPACE)).toFixed(1);
  const rows = bars.map((bar, index) => {
    const y = TOP + index * ROW;
    const end = LEFT + Number(length(Math.max(bar.value, bar.bound ?? 0))) + 6;
    return [
      `<text x="${LEFT - 8}" y="${y + 12}" text-anchor="end">${escaped(bar.label)}</text>`,
      `<rect x="${LEFT}" y="${y + 1}" width="${length(bar.value)}" height="14" fill="#3b6ea5"/>`,
      ...(bar.bound === undefined
        ? []
        : [
            `<rect x="${LEFT}" y="${y + 1}" width="${length(bar.bound)}" height="14" fill="none" stroke="#3b6ea5"/>`,
          ]),
      `<text x="${end}" y="${y + 12}">${escaped(bar.text)}</text>`,
    ].join('\n');
  });
  const height = TOP + bars.length * ROW + 10;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
<text x="16" y="22" font-size="14" font-weight="bold">${escaped(title)}</text>
${rows.join('\n')}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
