/** All cases. */
import { blobCases } from './cases/blob-cases.js'
import type { RepositoryCase } from './case.js'
import { conditionAndMetadataCases } from './cases/condition-cases.js'
import { eventCases } from './cases/event-cases.js'
import { fieldCases } from './cases/field-cases.js'
import { importCases } from './cases/import-cases.js'
import { indexCases } from './cases/index-cases.js'
import { indexConfigurationCases } from './cases/index-configuration-cases.js'
import { ownCases } from './cases/own-cases.js'
import { recordCases } from './cases/record-cases.js'
import { restCases } from './cases/rest-cases.js'
import { scanAndIdCases } from './cases/scan-cases.js'
import { schemaCases } from './cases/schema-cases.js'

/** All cases. */
export const repositoryCases: readonly RepositoryCase[] = [
  ...recordCases,
  ...conditionAndMetadataCases,
  ...schemaCases,
  ...scanAndIdCases,
  ...ownCases,
  ...blobCases,
  ...eventCases,
  ...indexCases,
  ...indexConfigurationCases,
  ...fieldCases,
  ...restCases,
  ...importCases,
]
