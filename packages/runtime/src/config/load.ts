import type { ConfigurationOf } from './configuration.ts';
import { environment } from './environment.ts';
import { maskValue } from './mask.ts';
import { rules } from './rules.ts';
import { type Environment, type ProcessName, type Setting, defaultText } from './setting.ts';
import { settings } from './settings.ts';

/** Some variables are missing or wrong. The message is one line with all their names. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly problems: readonly string[];

  constructor(process: ProcessName, problems: readonly string[]) {
    super(`postrider ${process}: configuration: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

/** The settings that `process` uses, with the name of their property. */
export function settingsOf(process: ProcessName): [name: string, setting: Setting][] {
  const all: [string, Setting][] = Object.entries(settings);
  return all.filter(([, setting]) => setting.processes.includes(process));
}

/**
 * Reads and checks all variables that `process` uses. It trims each value. An empty value counts as not set.
 *
 * @throws {ConfigurationError} naming every variable that is missing or wrong.
 */
export function loadConfig<const P extends ProcessName>(
  process: P,
  env: Environment = environment(),
): ConfigurationOf<P> {
  const given = trimmed(env);
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, setting] of settingsOf(process)) {
    const read = readSetting(setting, process, given);
    if ('problem' in read) problems.push(read.problem);
    else values[name] = read.value;
  }
  const config = values as ConfigurationOf<P>;
  problems.push(...rules.flatMap((rule) => rule(config) ?? []));
  if (problems.length > 0) throw new ConfigurationError(process, problems);
  return config;
}

function trimmed(env: Environment): Environment {
  const entries = Object.entries(env).map(([key, value]) => [key, value?.trim()] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== ''));
}

function readSetting(
  setting: Setting,
  process: ProcessName,
  env: Environment,
): { value: unknown } | { problem: string } {
  const text = env[setting.key] ?? defaultText(setting, process, env);
  if (text === undefined) {
    return setting.optional === true ? { value: undefined } : { problem: `${setting.key} is required` };
  }
  const result = setting.schema.safeParse(text);
  if (result.success) return { value: result.data };
  const must = result.error.issues.map((issue) => issue.message).join(' and ');
  return { problem: `${setting.key} ${must}${quoted(setting, text)}` };
}

const QUOTED_MAX_LENGTH = 60;

/** Quotes at most 60 characters of a wrong value. A secret is never quoted, not even a malformed one. */
function quoted(setting: Setting, text: string): string {
  if (setting.secret !== undefined) return '';
  const short = text.length > QUOTED_MAX_LENGTH ? `${text.slice(0, QUOTED_MAX_LENGTH)}…` : text;
  return ` (got ${JSON.stringify(short)})`;
}

/** The values by variable, for the log. Secrets and passwords are `***`. */
export function maskedConfig<P extends ProcessName>(
  process: P,
  config: ConfigurationOf<P> = loadConfig(process),
): Record<string, unknown> {
  const values: Readonly<Record<string, unknown>> = config;
  return Object.fromEntries(
    settingsOf(process)
      .filter(([name]) => values[name] !== undefined)
      .map(([name, setting]) => [setting.key, maskValue(values[name], setting.secret)]),
  );
}
