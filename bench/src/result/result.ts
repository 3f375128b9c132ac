import { spreadOf } from '@postrider/testing';
import { z } from 'zod';

/*
 * The format of result.json. It contains everything that the page shows, so a reader need not know the tool.
 */

const spread = z.object({
  median: z.number(),
  min: z.number(),
  max: z.number(),
  samples: z.int().positive(),
});

const value = z.object({ name: z.string(), unit: z.string(), measured: spread });

const check = value.extend({
  aim: z.object({ bound: z.enum(['at most', 'at least']), value: z.number() }),
  /** The judged round: the median or the worst. */
  judged: z.enum(['median', 'worst']),
  holds: z.boolean(),
});

const table = z.object({
  title: z.string(),
  head: z.array(z.string()),
  rows: z.array(z.array(z.union([z.string(), z.number()]))),
});

const plotText = { id: z.string(), title: z.string(), xLabel: z.string(), yLabel: z.string() };
const plot = z.discriminatedUnion('kind', [
  z.object({
    ...plotText,
    kind: z.literal('bars'),
    stacked: z.boolean(),
    categories: z.array(z.string()),
    series: z.array(z.object({ name: z.string(), values: z.array(z.number()) })),
  }),
  z.object({
    ...plotText,
    kind: z.literal('lines'),
    logarithmic: z.boolean(),
    series: z.array(z.object({ name: z.string(), points: z.array(z.tuple([z.number(), z.number()])) })),
  }),
]);

const measurement = z.object({
  checks: z.array(check),
  values: z.array(value),
  tables: z.array(table),
  plots: z.array(plot),
});

const figure = measurement.extend({
  id: z.string(),
  title: z.string(),
  group: z.enum(['load', 'isolation']),
  /** The procedure and the method. */
  how: z.string(),
  status: z.enum(['measured', 'not measured']),
  /** The reason why it was not measured. */
  reason: z.string().nullable(),
  seconds: z.number(),
});

export const resultSchema = z.object({
  format: z.literal(1),
  command: z.string(),
  startedAt: z.iso.datetime(),
  seconds: z.number(),
  /** True: small sizes that only try the tool. The figures mean nothing. */
  quick: z.boolean(),
  rounds: z.int().positive(),
  machine: z.record(z.string(), z.string()),
  versions: z.record(z.string(), z.string()),
  configuration: z.record(z.string(), z.string()),
  figures: z.array(figure),
  /** True when every figure was measured and every aim reached. */
  holds: z.boolean(),
});

export type Result = z.infer<typeof resultSchema>;
export type FigureResult = z.infer<typeof figure>;
export type Measurement = z.infer<typeof measurement>;
export type Check = z.infer<typeof check>;
export type Value = z.infer<typeof value>;
export type Plot = z.infer<typeof plot>;

/** Judges rounds by an aim. @param aim such as `{ atMost: 1.5 }` */
export function checkOf(
  name: string,
  unit: string,
  values: readonly number[],
  aim: { readonly atMost: number } | { readonly atLeast: number },
  judged: Check['judged'] = 'median',
): Check {
  const measured = spreadOf(values);
  if ('atMost' in aim) {
    const holds = (judged === 'median' ? measured.median : measured.max) <= aim.atMost;
    return { name, unit, measured, judged, holds, aim: { bound: 'at most', value: aim.atMost } };
  }
  const holds = (judged === 'median' ? measured.median : measured.min) >= aim.atLeast;
  return { name, unit, measured, judged, holds, aim: { bound: 'at least', value: aim.atLeast } };
}

export function valueOf(name: string, unit: string, values: readonly number[]): Value {
  return { name, unit, measured: spreadOf(values) };
}

/**
 * Makes checks and values from the rounds of a figure. `pick` gives the number of one round.
 *
 * @returns functions like `checkOf` and `valueOf`
 */
export function judging<Round>(rounds: readonly Round[]) {
  return {
    check: (
      name: string,
      unit: string,
      aim: Parameters<typeof checkOf>[3] & { readonly judged?: Check['judged'] },
      pick: (round: Round) => number,
    ): Check => checkOf(name, unit, rounds.map(pick), aim, aim.judged),
    value: (name: string, unit: string, pick: (round: Round) => number): Value =>
      valueOf(name, unit, rounds.map(pick)),
  };
}

/**
 * A figure holds when it was measured and has reached all its aims. A figure without an aim does not hold.
 */
export function figureHolds(result: Pick<FigureResult, 'status' | 'checks'>): boolean {
  return result.status === 'measured' && result.checks.length > 0 && result.checks.every((one) => one.holds);
}
