import type { ConfigurationOf } from '@postrider/runtime';

/** The pages show some of the installation's limits and retention times. */
export type Settings = ConfigurationOf<'console'>;
