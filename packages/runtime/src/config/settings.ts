import { connectionSettings } from './settings/connections.ts';
import { consoleSettings } from './settings/console.ts';
import { deliverySettings } from './settings/delivery.ts';
import { httpSettings } from './settings/http.ts';
import { inboundSettings } from './settings/inbound.ts';
import { mailSettings } from './settings/mail.ts';
import { noticeSettings } from './settings/notices.ts';
import { operationSettings } from './settings/operations.ts';

/** Every environment variable, by the name of its property in a configuration. */
export const settings = {
  ...connectionSettings,
  ...httpSettings,
  ...deliverySettings,
  ...mailSettings,
  ...inboundSettings,
  ...consoleSettings,
  ...noticeSettings,
  ...operationSettings,
};

export type Settings = typeof settings;
