import { mailbox, minutes, secretText, trustedUrl } from '../schemas.ts';
import { defineOptionalSetting, defineSetting } from '../setting.ts';

/** Notices that a webhook fails, and that it is well again. */
export const noticeSettings = {
  webhookFailingNoticeMinutes: defineSetting({
    key: 'WEBHOOK_FAILING_NOTICE_MINUTES',
    description:
      'How long a webhook fails before its account’s notice address gets a mail and `OPERATOR_WEBHOOK_URL` an event. ' +
      'The second notice follows when the webhook has been healthy for the same time. Fractions are allowed. Set this and the three settings below alike on every relay.',
    unit: 'min',
    schema: minutes,
    default: '5',
    processes: ['relay'],
  }),
  noticeMailFrom: defineOptionalSetting({
    key: 'NOTICE_MAIL_FROM',
    description:
      'From of the mail about failing webhooks: `Postrider <notices@example.com>`. Not set: the sandbox has an address of ' +
      'its own, and `smtp` and `ses` send no such mail.',
    schema: mailbox,
    processes: ['relay'],
  }),
  operatorWebhookUrl: defineOptionalSetting({
    key: 'OPERATOR_WEBHOOK_URL',
    description:
      'The operator’s own endpoint. It gets a signed event when a webhook of any account fails, and when it is well ' +
      'again. Trusted: it may be in a private network, and `http` is allowed.',
    schema: trustedUrl,
    secret: 'whole',
    processes: ['relay'],
  }),
  operatorWebhookSecret: defineOptionalSetting({
    key: 'OPERATOR_WEBHOOK_SECRET',
    description:
      'Signs the events to `OPERATOR_WEBHOOK_URL`, and is required with it. At least 32 characters.',
    schema: secretText,
    secret: 'whole',
    processes: ['relay'],
  }),
};
