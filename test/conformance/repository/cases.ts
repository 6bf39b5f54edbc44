/** All cases. */
import { blobCases } from './blob-cases.js'
import type { RepositoryCase } from './case.js'
import { conditionAndMetadataCases } from './condition-cases.js'
import { eventCases } from './event-cases.js'
import { fieldCases } from './field-cases.js'
import { importCases } from './import-cases.js'
import { indexCases } from './index-cases.js'
import { indexConfigurationCases } from './index-configuration-cases.js'
import { ownCases } from './own-cases.js'
import { recordCases } from './record-cases.js'
import { restCases } from './rest-cases.js'
import { scanAndIdCases } from './scan-cases.js'
import { schemaCases } from './schema-cases.js'

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
