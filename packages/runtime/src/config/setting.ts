import type { z } from 'zod';

export type ProcessName = 'api' | 'relay' | 'worker' | 'inbound' | 'cli';

/** Variables as a process gets them: text, or not there. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What stands in for a variable that is not set, written as one would write it in the environment: one text for
 * every process, one per process, or one that depends on another variable (`text` is how the documentation says it).
 */
export type Default =
  | string
  | Readonly<Partial<Record<ProcessName, string>>>
  | { text: string; from: (env: Environment) => string };

/** `whole` hides the value, `password` only the password inside a URL. */
export type Secrecy = 'whole' | 'password';

interface Described {
  /** Name of the environment variable. */
  key: string;
  /** One or two sentences for the operator: the documentation is made of them. */
  description: string;
  /** `ms`, `s`, `days`, `requests/min` …; absent for what has no unit. */
  unit?: string;
  secret?: Secrecy;
}

/** One environment variable. `optional` and no default: the value may be undefined; neither: it is required. */
export interface Setting<Value = unknown, Process extends ProcessName = ProcessName> extends Described {
  schema: z.ZodType<Value, string>;
  processes: readonly Process[];
  default?: Default;
  optional?: boolean;
}

interface Definition<Value, Process extends ProcessName> extends Described {
  schema: z.ZodType<Value, string>;
  processes: readonly Process[];
}

/** A setting that has a default, or that must be set. */
export function defineSetting<Value, const Process extends ProcessName>(
  setting: Definition<Value, Process> & { default?: Default },
): Setting<Value, Process> {
  return setting;
}

/** A setting that may stay undefined. */
export function defineOptionalSetting<Value, const Process extends ProcessName>(
  setting: Definition<Value, Process>,
): Setting<Value | undefined, Process> {
  return { ...setting, schema: setting.schema, optional: true };
}

/** The text that stands in for `setting` when the variable is not set, or undefined where there is none. */
export function defaultText(setting: Setting, process: ProcessName, env: Environment): string | undefined {
  const given = setting.default;
  if (given === undefined || typeof given === 'string') return given;
  return isDerived(given) ? given.from(env) : given[process];
}

/** How the documentation writes the default. */
export function defaultInWords(setting: Setting, process: ProcessName): string | undefined {
  const given = setting.default;
  if (given === undefined || typeof given === 'string') return given;
  return isDerived(given) ? given.text : given[process];
}

function isDerived(given: Exclude<Default, string>): given is Extract<Default, { text: string }> {
  return 'from' in given;
}
