/**
 * The release of this package, which must be that of its addon. It is written here, since a bundler of an application
 * leaves the package's package.json behind.
 */
export const RELEASE = "0.1.0";
