import type { Response } from 'express';
import type { Clock } from '@postrider/domain';
import type { Visitor } from '../access/sessions.ts';
import { documentOf } from '../html/layout.ts';
import type { Page } from '../html/layout.ts';

/** The version of package.json. A bundle runs without that file. */
const VERSION = '0.1.0';

/** Sends a page in the frame that names the visitor. Null: no user is signed in. */
export type Respond = (response: Response, page: Page, visitor: Visitor | null) => void;

export function createRespond(clock: Clock): Respond {
  return (response, page, visitor) => {
    const frame = { user: visitor, now: clock.now(), version: VERSION };
    if (page.refreshSeconds !== undefined) response.set('refresh', String(page.refreshSeconds));
    response
      .status(page.status ?? 200)
      .type('html')
      .send(documentOf(page, frame));
  };
}
