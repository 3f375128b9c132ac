import type { z } from 'zod';

/** The roles of processes. One process has one role or several. */
export const ROLES = ['api', 'relay', 'worker', 'inbound', 'console'] as const;
export type Role = (typeof ROLES)[number];

/** `all` is the process that has several roles. */
export type ProcessName = Role | 'all' | 'cli';

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The value of a variable that is not set, as text: one for all processes, one per process, or computed by
 * `from` from other variables. `text` describes a computed default in the documentation.
 */
export type Default =
  | string
  | Readonly<Partial<Record<ProcessName, string>>>
  | { text: string; from: (env: Environment) => string };

/** `whole` hides the value, `password` the password in a URL. */
export type Secrecy = 'whole' | 'password';

/** One environment variable. It is required when it has no default and is not `optional`. */
export interface Setting<Value = unknown, Process extends ProcessName = ProcessName> {
  /** Name of the environment variable. */
  key: string;
  /** One or two sentences for the operator. `docs/configuration.md` shows them. */
  description: string;
  /** `ms`, `s`, `days`, `requests/min`, … */
  unit?: string;
  secret?: Secrecy;
  schema: z.ZodType<Value, string>;
  processes: readonly Process[];
  default?: Default;
  optional?: boolean;
}

/** A setting that has a default, or that must be set. */
export function defineSetting<Value, const Process extends ProcessName>(
  setting: Omit<Setting<Value, Process>, 'optional'>,
): Setting<Value, Process> {
  return setting;
}

/** A setting that may stay undefined. */
export function defineOptionalSetting<Value, const Process extends ProcessName>(
  setting: Omit<Setting<Value, Process>, 'optional' | 'default'>,
): Setting<Value | undefined, Process> {
  return { ...setting, optional: true };
}

/** The default of `setting` as text, or undefined. @param env null: as the documentation shows it. */
export function defaultText(
  { default: given }: Setting,
  process: ProcessName,
  env: Environment | null,
): string | undefined {
  if (given === undefined || typeof given === 'string') return given;
  if (!isComputed(given)) return given[process];
  return env === null ? given.text : given.from(env);
}

function isComputed(given: Exclude<Default, string>): given is Extract<Default, { text: string }> {
  return 'from' in given;
}
