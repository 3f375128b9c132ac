import type { ConfigurationOf } from '@postrider/runtime';

/** The settings of the console. Its pages show some limits and retention times. */
export type Settings = ConfigurationOf<'console'>;
