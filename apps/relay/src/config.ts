import type { ConfigurationOf } from '@postrider/runtime';

export type RelayConfig = ConfigurationOf<'relay'>;
