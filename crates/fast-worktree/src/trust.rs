//! Trusting a source's `fwt.toml`: as it is now, byte for byte. A changed file is not trusted.

use crate::api::{ApiError, Code, Trust, TrustRequest, TrustResponse};
use crate::config::{FILE_NAME, of_source};
use crate::service::Service;
use crate::source::Source;

impl Service {
    /// Trusts the file, or none of this source any more.
    pub(crate) fn trust(&self, request: &TrustRequest) -> Result<TrustResponse, ApiError> {
        let registry = self.registry()?;
        let source = Source::open(&self.git, Some(&registry), &request.directory.0)?;
        let path = source.root().join(FILE_NAME);
        if request.trust == Trust::Revoke {
            registry.distrust(&source.identity())?;
            return Ok(TrustResponse {
                path: path.into(),
                setup: None,
                cleanup: None,
                is_trusted: false,
            });
        }
        let Some(found) = of_source(&source)? else {
            let text = format!("there is no {}, so there is nothing to trust", path.display());
            return Err(ApiError::new(Code::NoSuchSource, text));
        };
        registry.trust(&source.identity(), &found.digest, self.now().seconds)?;
        let text =
            |command: &Option<crate::config::Command>| command.as_ref().map(ToString::to_string);
        Ok(TrustResponse {
            path: found.path.into(),
            setup: text(&found.hooks.setup),
            cleanup: text(&found.hooks.cleanup),
            is_trusted: true,
        })
    }
}
