/** All numbered cases, in the order of their numbers. */
import type { MessagingCase } from './case.js'
import { contextCases } from './context-cases.js'
import { persistenceCases } from './persistence-cases.js'
import { processorCases } from './processor-cases.js'
import { transactionCases } from './transaction-cases.js'

/** All numbered cases, in the order of their numbers. */
export const messagingCases: readonly MessagingCase[] = [
  ...transactionCases,
  ...contextCases,
  ...persistenceCases,
  ...processorCases,
].sort((a, b) => a.number - b.number)
