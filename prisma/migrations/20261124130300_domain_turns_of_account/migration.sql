-- The account for which a domain is being added in this turn; null: nothing is being added.
alter table domain_turns add column account_id text;
