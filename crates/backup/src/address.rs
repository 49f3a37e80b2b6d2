//! Opening of an object store by a URL.
//!
//! Credentials, regions and endpoints are read from the environment, as `object_store` does: `AWS_ACCESS_KEY_ID`,
//! `AWS_ENDPOINT`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_KEY` and so on. A URL with credentials is refused.

use crate::error::{Error, Result, redacted};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreScheme};
use std::path::PathBuf;
use std::sync::Arc;
use url::Url;

/// Opens the object store of a URL such as `s3://bucket/folder`, `gs://bucket/folder`, `az://container/folder` or
/// `file:///folder`, and returns it with the folder in it. Sends no request.
///
/// # Errors
/// [`Error::Invalid`] for a URL that is malformed, of another kind, or has credentials; settings in the environment
/// that do not fit.
pub fn open(url: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let refused = |found: &str| {
        let expected =
            "s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, az://CONTAINER/FOLDER or file:///FOLDER";
        Error::invalid("URL of a backup", expected, found)
    };
    let parsed = Url::parse(url).map_err(|e| refused(&format!("{} ({e})", redacted(url))))?;
    if parsed.fragment().is_some() {
        return Err(refused("one with a fragment; write %23 for # in a name"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() || parsed.query().is_some() {
        return Err(refused(
            "one with credentials or a query; credentials are read from the environment",
        ));
    }
    let (scheme, path) = ObjectStoreScheme::parse(&parsed).map_err(|_| refused(&redacted(url)))?;
    let objects: Arc<dyn ObjectStore> = match scheme {
        ObjectStoreScheme::Local => Arc::new(LocalFileSystem::new().with_fsync(true)),
        #[cfg(feature = "cloud")]
        scheme => cloud::open(&scheme, url)?.ok_or_else(|| refused(&redacted(url)))?,
        #[cfg(not(feature = "cloud"))]
        _ => return Err(refused(&redacted(url))),
    };
    Ok((objects, path))
}

/// Returns the directory of a `file` URL.
#[must_use]
pub fn directory(url: &str) -> Option<PathBuf> {
    let parsed = Url::parse(url).ok().filter(|url| url.scheme() == "file")?;
    parsed.to_file_path().ok()
}

#[cfg(feature = "cloud")]
mod cloud {
    //! Object stores that are reached by HTTP.

    use super::{Arc, Error, ObjectStore, ObjectStoreScheme, Result};
    use object_store::aws::AmazonS3Builder;
    use object_store::azure::MicrosoftAzureBuilder;
    use object_store::gcp::GoogleCloudStorageBuilder;
    use object_store::{BackoffConfig, RetryConfig};
    use std::time::Duration;

    /// Returns the bounds of the retries of a request. They are low, since the writer tries again as well.
    fn retries() -> RetryConfig {
        let backoff = BackoffConfig { max_backoff: Duration::from_secs(2), ..Default::default() };
        RetryConfig { backoff, max_retries: 3, retry_timeout: Duration::from_secs(30) }
    }

    /// Opens an object store; returns `None` for one of another kind.
    pub fn open(scheme: &ObjectStoreScheme, url: &str) -> Result<Option<Arc<dyn ObjectStore>>> {
        // The server's doors use the same implementation. One that the program has installed stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let failed = |e: object_store::Error| Error::objects("open", "the object store", &e);
        Ok(Some(match scheme {
            ObjectStoreScheme::AmazonS3 => {
                let builder = AmazonS3Builder::from_env().with_url(url).with_retry(retries());
                Arc::new(builder.build().map_err(failed)?)
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(url);
                Arc::new(builder.with_retry(retries()).build().map_err(failed)?)
            }
            ObjectStoreScheme::MicrosoftAzure => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(url);
                Arc::new(builder.with_retry(retries()).build().map_err(failed)?)
            }
            _ => return Ok(None),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_an_object_store_and_a_folder() {
        let (_, path) = open("file:///backups/notes").unwrap();
        assert_eq!(path.as_ref(), "backups/notes");
        for url in ["", "notes", "/backups", "http://host/x", "memory:///x", "ftp://host/x"] {
            let refused = open(url).err().unwrap().to_string();
            assert!(refused.contains("expected s3://BUCKET/FOLDER"), "{url}: {refused}");
        }
    }

    #[test]
    fn a_url_with_a_fragment_is_refused() {
        let refused = open("file:///backups/notes#1").err().unwrap().to_string();
        assert!(refused.contains("a fragment; write %23"), "{refused}");
        let (_, path) = open("file:///backups/notes%231").unwrap();
        assert_eq!(path.parts().count(), 2);
        assert_eq!(directory("file:///backups/a%20b"), Some("/backups/a b".into()));
        assert_eq!(directory("s3://bucket/folder"), None);
    }

    #[test]
    fn a_url_with_credentials_is_refused_without_showing_them() {
        for url in ["s3://key:secret@bucket/x", "az://container/x?sig=secret"] {
            let refused = open(url).err().unwrap().to_string();
            assert!(refused.contains("environment") && !refused.contains("secret"), "{refused}");
        }
    }
}
