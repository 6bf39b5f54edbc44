/** The suite of metadata stores. The public entry `cellardb/conformance/metadata`. */
import './metastore-pulsar.js'

export * from './conformance/metadata/suite.js'
