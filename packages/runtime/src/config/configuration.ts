import type { ProcessName, Setting } from './setting.ts';
import type { Settings } from './settings.ts';

type ValueOf<S> = S extends Setting<infer Value> ? Value : never;
type UsersOf<S> = S extends Setting<unknown, infer Process> ? Process : never;

/**
 * The checked configuration of a process. `ConfigurationOf<'api'>` has only the settings that the API uses: a
 * setting that P does not use gets the name `never`, so it is left out.
 */
export type ConfigurationOf<P extends ProcessName> = {
  readonly [Name in keyof Settings as P & UsersOf<Settings[Name]> extends never ? never : Name]: ValueOf<
    Settings[Name]
  >;
};
