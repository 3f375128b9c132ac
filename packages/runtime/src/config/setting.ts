import type { z } from 'zod';

export type ProcessName = 'api' | 'relay' | 'worker' | 'inbound' | 'cli';

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The value of a variable that is not set, as text. It is the same in every process, or one per process, or
 * `from` computes it from other variables. `text` describes a computed default in the documentation.
 */
export type Default =
  | string
  | Readonly<Partial<Record<ProcessName, string>>>
  | { text: string; from: (env: Environment) => string };

/** `whole` hides the value, `password` the password in a URL. */
export type Secrecy = 'whole' | 'password';

interface Described {
  /** Name of the environment variable. */
  key: string;
  /** One or two sentences for the operator. `docs/configuration.md` shows them. */
  description: string;
  /** `ms`, `s`, `days`, `requests/min`, … */
  unit?: string;
  secret?: Secrecy;
}

/** One environment variable. It is required when it has no default and is not `optional`. */
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

/** The default of `setting` as text, or undefined. */
export function defaultText(setting: Setting, process: ProcessName, env: Environment): string | undefined {
  const given = setting.default;
  if (given === undefined || typeof given === 'string') return given;
  return isDerived(given) ? given.from(env) : given[process];
}

/** The default as the documentation shows it, or undefined. */
export function defaultInWords(setting: Setting, process: ProcessName): string | undefined {
  const given = setting.default;
  if (given === undefined || typeof given === 'string') return given;
  return isDerived(given) ? given.text : given[process];
}

function isDerived(given: Exclude<Default, string>): given is Extract<Default, { text: string }> {
  return 'from' in given;
}
