/** The durability of mutations. */
export { parseDurability, stronger } from '../../api/checks/durability.js'
