import express from 'express';

/** A form has a few short fields. */
export const formBody = express.urlencoded({ extended: false, limit: '16kb', parameterLimit: 50 });
