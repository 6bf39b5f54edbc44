/** All cases. */
import { cacheCases } from './cache-cases.js'
import type { MessagingCase } from './case.js'
import { cleanupCases } from './cleanup-cases.js'
import { contextCases } from './context-cases.js'
import { layoutCases } from './layout-cases.js'
import { leaderCases } from './leader-cases.js'
import { messageCases } from './message-cases.js'
import { ownCases } from './own-cases.js'
import { persistenceCases } from './persistence-cases.js'
import { processorCases } from './processor-cases.js'
import { publishCases } from './publish-cases.js'
import { tephraCases } from './tephra-cases.js'
import { topicCases } from './topic-cases.js'
import { transactionCases } from './transaction-cases.js'

/** All cases. */
export const messagingCases: readonly MessagingCase[] = [
  ...topicCases,
  ...messageCases,
  ...publishCases,
  ...cleanupCases,
  ...layoutCases,
  ...leaderCases,
  ...tephraCases,
  ...cacheCases,
  ...ownCases,
  ...transactionCases,
  ...contextCases,
  ...persistenceCases,
  ...processorCases,
]
