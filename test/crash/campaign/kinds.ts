/** All kinds of campaigns: those of the campaign's own process, and the test files. */
import { campaigns, type Campaign } from './campaigns.js'
import { openTestKind, testKinds } from './test-kinds.js'

/** Names of all kinds. */
export const kindNames: readonly string[] = [...Object.keys(campaigns), ...Object.keys(testKinds)]

/** Begins a campaign of a kind. */
export function openKind(kind: string): Campaign {
  return Object.hasOwn(campaigns, kind) ? campaigns[kind]() : openTestKind(testKinds[kind])
}
