/** Errors about the columns that callers name; how they name them is in cell/column-name.ts. */
export { noSuchFamily } from '../../api/checks/reads.js'
