/**
 * Runs TypeScript from its source, without a build: `node --import ./.ci/source/register.mjs FILE`.
 * Worker threads inherit the import. Types are stripped and not checked.
 */
import { register } from 'node:module'

register('./hooks.mjs', import.meta.url)
