import type { ConfigurationOf } from './configuration.ts';
import { environment } from './environment.ts';
import { maskValue } from './mask.ts';
import { rules } from './rules.ts';
import {
  type Environment,
  type ProcessName,
  type Role,
  ROLES,
  type Setting,
  defaultText,
} from './setting.ts';
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
  const { config, problems } = readConfig(process, trimmed(env));
  if (problems.length > 0) throw new ConfigurationError(process, problems);
  return config;
}

/**
 * Reads and checks all variables of the process `all`, and those of each role that `ROLES` names.
 *
 * @throws {ConfigurationError} naming every variable that is missing or wrong, once.
 */
export function loadSharedConfig(env: Environment = environment()) {
  const given = trimmed(env);
  const own = readConfig('all', given);
  const roles = rolesIn(own.config, given);
  const read = new Map(roles.map((role) => [role, readConfig(role, given)]));
  const problems = [...own.problems, ...[...read.values()].flatMap((each) => each.problems)];
  if (problems.length > 0) throw new ConfigurationError('all', [...new Set(problems)]);
  return {
    own: own.config,
    roles,
    /** @throws Error for a role that the process does not have. */
    of: <const R extends Role>(role: R): ConfigurationOf<R> => {
      const config = read.get(role)?.config;
      if (config === undefined) throw new Error(`this process has no role ${role}`);
      return config as unknown as ConfigurationOf<R>;
    },
  };
}

/** `ROLES=all` has no console without `CONSOLE_KEYS`: no user could sign in. A wrong `ROLES` gives none. */
function rolesIn({ roles }: Partial<ConfigurationOf<'all'>>, env: Environment): readonly Role[] {
  if (roles !== 'all') return roles ?? [];
  return ROLES.filter((role) => role !== 'console' || env['CONSOLE_KEYS'] !== undefined);
}

function readConfig<const P extends ProcessName>(
  process: P,
  env: Environment,
): { config: ConfigurationOf<P>; problems: readonly string[] } {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [name, setting] of settingsOf(process)) {
    const read = readSetting(setting, process, env);
    if ('problem' in read) problems.push(read.problem);
    else values[name] = read.value;
  }
  const config = values as ConfigurationOf<P>;
  problems.push(...rules.flatMap((rule) => rule(config) ?? []));
  return { config, problems };
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
  config: ConfigurationOf<P>,
): Record<string, unknown> {
  const values: Readonly<Record<string, unknown>> = config;
  return Object.fromEntries(
    settingsOf(process)
      .filter(([name]) => values[name] !== undefined)
      .map(([name, setting]) => [setting.key, maskValue(values[name], setting.secret)]),
  );
}
