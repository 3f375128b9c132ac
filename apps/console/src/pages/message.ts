import { html } from '@remix-run/html-template';
import type { Account, MessageDetails, NewestEvent } from '@postrider/store';
import { formTokens } from '../http/serve-form.ts';
import type { Visit } from '../http/serve-page.ts';
import { doneNote } from '../html/done.ts';
import type { Page } from '../html/layout.ts';
import { accountCrumb, accountLink, addressLink } from '../html/links.ts';
import { crumbs, facts, head, section, state, wholeId } from '../html/pieces.ts';
import type { Html } from '../html/pieces.ts';
import { timeline, withGaps } from '../html/timeline.ts';
import type { Step } from '../html/timeline.ts';
import { bytes, counted, dayAfter, subjectText } from '../html/words.ts';
import type { Settings } from '../settings.ts';
import { deliveredOf, fatesInWords } from './fates.ts';
import { HELD_WORDS } from './held-reason.ts';

export interface MessageParts {
  readonly message: MessageDetails;
  readonly account: Account | null;
  /** Null: none is known. */
  readonly newestEvent: NewestEvent | null;
}

export function messagePage(parts: MessageParts, settings: Settings, visit: Visit): Page {
  const { message, account } = parts;
  const isHeld = message.status === 'held';
  const title = subjectText(message.subject);
  const pill = state(isHeld ? 'wait' : 'good', message.status, 'pill');
  const ids = html`${pill} ${wholeId(message.id, 'message id')}`;
  const above = isHeld
    ? { href: '/held', name: 'Held mail' }
    : accountCrumb(message.accountId, account?.name);
  const main = html`${crumbs([above], 'Message')} ${head(title, { ids })} ${doneNote(visit.done)}
    ${heldNote(message)}
    <section class="card" aria-label="Facts">${messageFacts(parts, settings)}</section>
    ${storySection(parts)} ${isHeld && visit.mayAct ? releaseForm(message, visit) : null}
    <p class="hint">
      The console never shows the text of a message. With <code>inbound:manage</code>, the customer can read
      and release it through the API.
    </p>`;
  return isHeld ? { title, current: '/held', main } : { title, main };
}

function heldNote({ status, heldReason }: MessageDetails): Html | null {
  if (status !== 'held' || heldReason === null) return null;
  return html`<div class="note ${heldReason === 'virus' ? 'bad' : 'wait'}">
    <p>
      <b>Held as <code>${heldReason}</code>.</b> ${HELD_WORDS[heldReason].words}.
    </p>
  </div>`;
}

function messageFacts({ message, account }: MessageParts, settings: Settings): Html {
  const { spf, dkim, dmarc } = message.auth;
  const files = message.attachments.length;
  const addresses = (list: readonly string[]) =>
    list.length === 0 ? 'none' : html`<code>${list.join(', ')}</code>`;
  return facts(
    [
      {
        term: 'Account',
        value: accountLink(message.accountId, account?.name),
      },
      { term: 'Received for', value: addresses(message.receivedFor) },
      { term: 'From', value: addressLink(message.from) },
      { term: 'Reply-To', value: addresses(message.replyTo) },
      { term: 'SPF, DKIM, DMARC', value: `${spf}, ${dkim}, ${dmarc}` },
      { term: 'Automatic', value: message.automatic ? 'yes' : 'no' },
      {
        term: 'Size',
        value: html`${bytes(message.size)}
          <span class="rel">${files === 0 ? 'no attachments' : counted(files, 'attachment')}</span>`,
      },
      { term: 'Deleted on', value: dayAfter(message.receivedAt, settings.inboundRetentionDays) },
      {
        term: 'Message-ID',
        value:
          message.messageId === null
            ? 'none'
            : html`<code data-copy="Message-ID">&lt;${message.messageId}&gt;</code>`,
        full: true,
      },
    ],
    'four',
  );
}

function storySection({ message, newestEvent }: MessageParts): Html {
  const { receivedAt, receivedFor, status, heldReason, releasedAt } = message;
  const steps: Step[] = [
    {
      at: receivedAt,
      sign: status === 'held' ? 'wait' : '',
      content: html`<p><b>Received</b> for <code>${receivedFor.join(', ')}</code></p>
        ${heldReason === null ? null : html`<p><b>Held</b>: <code>${heldReason}</code></p>`}
        ${releasedAt === null ? eventLine(newestEvent) : null}`,
    },
  ];
  if (releasedAt !== null) {
    steps.push({
      at: releasedAt,
      sign: 'hand',
      content: html`<p><b>Released</b> into its inbox</p>
        ${eventLine(newestEvent)}`,
    });
  }
  return section(
    'story',
    { title: 'Story', side: html`<p class="small soft">UTC</p>` },
    html`<div class="card pad">${timeline(withGaps(steps))}</div>`,
  );
}

function eventLine(event: NewestEvent | null): Html {
  if (event === null) return html`<p class="small soft">No event about this message is known.</p>`;
  return html`<p class="small">
    Newest event <a href="/events/${event.id}">${event.type}</a> ${fatesInWords(event.fates)}
    ${deliveredOf(event.fates)}
  </p>`;
}

function releaseForm({ id, receivedFor, heldReason }: MessageDetails, { visitor }: Visit): Html {
  const isVirus = heldReason === 'virus';
  return html`<section class="sec" id="release" aria-label="Release">
    <details class="ask">
      <summary class="btn">Release…</summary>
      <form method="post" action="/messages/${id}/release">
        ${formTokens(visitor)}
        <p>
          Postrider puts <b>1 message</b> into ${receivedFor.join(', ')} and records <b>1 event</b>,
          <code>message.received</code>. You cannot hold the message again.
        </p>
        <div>
          <label for="m-note">Note for the audit (${isVirus ? 'required' : 'optional'})</label>
          <input
            id="m-note"
            name="note"
            maxlength="200"
            autocomplete="off"
            ${isVirus ? html`required` : null}
          />
        </div>
        <div class="acts"><button class="btn danger">Release 1 message</button></div>
      </form>
    </details>
  </section>`;
}
