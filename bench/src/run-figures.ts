import type { Figure, Fixture, Outcome } from './figure.ts';
import type { FigureResult, Measurement } from './result/result.ts';
import { figureHolds } from './result/result.ts';
import { duration } from './progress.ts';

export interface RunOptions {
  readonly forFigure: (figure: Figure) => Fixture & { close(): Promise<void> };
  /** The time limit of the run. Figures that do not fit are not measured. */
  readonly limitSeconds: number;
  /** Multiplies each figure's time limit, because more rounds take more time. */
  readonly limitFactor: number;
  readonly say: (line: string) => void;
}

/** Remaining time up to this counts as none, because a timer may fire early. */
const TIMER_SLACK_SECONDS = 0.005;
const NOTHING: Measurement = { checks: [], values: [], tables: [], plots: [] };

/**
 * Measures the figures in order. After a figure that fails or takes too long, the next ones are still
 * measured.
 */
export async function runFigures(figures: readonly Figure[], options: RunOptions): Promise<FigureResult[]> {
  const begun = performance.now();
  const results: FigureResult[] = [];
  for (const figure of figures) {
    const leftSeconds = options.limitSeconds - (performance.now() - begun) / 1000;
    const limitSeconds = Math.min(figure.limitSeconds * options.limitFactor, leftSeconds);
    options.say(`${figure.id}: ${figure.title} (at most ${duration(Math.max(0, limitSeconds))})`);
    const result = await runOne(figure, limitSeconds, options);
    options.say(`${figure.id}: ${describe(result)}`);
    results.push(result);
  }
  return results;
}

async function runOne(figure: Figure, limitSeconds: number, options: RunOptions): Promise<FigureResult> {
  const { id, title, group, how } = figure;
  const begun = performance.now();
  const outcome = await measure(figure, limitSeconds, options);
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  return typeof outcome === 'string'
    ? { id, title, group, how, seconds, status: 'not measured', reason: outcome, ...NOTHING }
    : { id, title, group, how, seconds, status: 'measured', reason: null, ...NOTHING, ...outcome };
}

/** @returns the measurement, or the reason why it is missing */
async function measure(
  figure: Figure,
  limitSeconds: number,
  { forFigure, say }: RunOptions,
): Promise<Outcome | string> {
  if (limitSeconds <= TIMER_SLACK_SECONDS) return 'the time of the whole run was over';
  const fixture = forFigure(figure);
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`not done after ${duration(limitSeconds)}`), limitSeconds * 1000);
  });
  try {
    // After the time limit the figure fails when its processes end. Its error is ignored.
    return await Promise.race([figure.run(fixture), tooLong]);
  } catch (error) {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  } finally {
    clearTimeout(timer);
    await fixture.close();
  }
}

function describe(result: FigureResult): string {
  if (result.status === 'not measured') return `NOT MEASURED: ${result.reason ?? ''}`;
  const missed = result.checks.filter((check) => !check.holds).map((check) => check.name);
  return figureHolds(result)
    ? `reached, in ${duration(result.seconds)}`
    : `NOT REACHED in ${duration(result.seconds)}: ${missed.join('; ')}`;
}
