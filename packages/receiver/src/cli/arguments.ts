import { UsageError } from './io.ts';
import type { Io } from './io.ts';

/** The options of a command, as `parseArgs` takes them. */
export type Options = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

/** The values of the options that the user gave. */
export type Arguments<O extends Options> = {
  readonly [K in keyof O]?: O[K]['type'] extends 'string' ? string : boolean;
};

/** @throws UsageError unless `text` is an absolute URL of http or https. */
export function httpUrl(option: string, text: string): URL {
  try {
    const url = new URL(text); // Node 20 has no URL.parse
    if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  } catch {
    // the error below says so
  }
  throw new UsageError(`${option} must be a URL that begins with http:// or https://, not ${text}`);
}

/** @returns undefined when the variable is not set, or empty. */
export function fromEnvironment(name: string, { env }: Io): string | undefined {
  return env[name] === '' ? undefined : env[name];
}

/** @returns undefined when neither the option nor the environment has a secret. */
export function signingSecret(given: string | undefined, io: Io): string | undefined {
  const variable = 'POSTRIDER_WEBHOOK_SECRET';
  const [name, secret] =
    given === undefined ? [variable, fromEnvironment(variable, io)] : ['--secret', given];
  if (secret === undefined) return undefined;
  if (!/^whsec_[\x21-\x7e]+$/.test(secret)) {
    throw new UsageError(`${name} must be a whole signing secret: it begins with whsec_`);
  }
  return secret;
}

/** @throws UsageError unless the prefix is a token of RFC 9110, and so may begin a header's name. */
export function headerPrefix(given = 'Service'): string {
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(given))
    throw new UsageError(`--header-prefix ${given} is no header name`);
  return given;
}
