import { grants, parseId } from '@postrider/domain';
import type { ApiKey, MessageStore, WholeMessage } from '@postrider/store';
import type { Answer } from '../../http/answer.ts';
import { heldNeedsManage, noSuch } from '../../problems/answers.ts';

/** Whether the key may see held mail. */
export function seesHeld(key: ApiKey): boolean {
  return grants(key.scopes, 'inbound:manage');
}

/** A message that the key may read. `then` makes the answer of it; every other answer is the same on all routes. */
export async function withMessage(
  messages: Pick<MessageStore, 'find'>,
  { key, id: written }: { readonly key: ApiKey; readonly id: string },
  then: (message: WholeMessage) => Answer,
): Promise<Answer> {
  const id = parseId('message', written);
  const message = id === null ? null : await messages.find(key, id);
  if (message === null) return noSuch('message');
  return message.status === 'held' && !seesHeld(key) ? heldNeedsManage : then(message);
}
