//! Looking at what was recorded. Nothing is written.

use checkpoint::{Error, Tree, diff};

use super::describe::{describe, describe_change, describe_difference, detail};
use super::home::Home;
use super::write::turn_key;
use crate::api::{
    ApiError, DiffCheckpointsRequest, DiffCheckpointsResponse, ListCheckpointsRequest,
    ListCheckpointsResponse, ShowCheckpointRequest, ShowCheckpointResponse,
};
use crate::service::Service;

impl Service {
    pub(crate) fn list_checkpoints(
        &self,
        request: &ListCheckpointsRequest,
    ) -> Result<ListCheckpointsResponse, ApiError> {
        let home = Home::find(self, &request.directory.0)?;
        let Some(store) = home.find_store()? else {
            return Ok(ListCheckpointsResponse { checkpoints: Vec::new() });
        };
        let mut points = Tree::open(&store.tree)?.points(&store.objects)?;
        if let Some(session) = &request.session {
            points.retain(|point| point.key.session == *session);
        }
        Ok(ListCheckpointsResponse { checkpoints: points.iter().map(describe).collect() })
    }

    pub(crate) fn show_checkpoint(
        &self,
        request: &ShowCheckpointRequest,
    ) -> Result<ShowCheckpointResponse, ApiError> {
        let home = Home::find(self, &request.directory.0)?;
        let key = turn_key(&request.session, request.prompt)?;
        let Some(store) = home.find_store()? else { return Err(Error::NoSuchTurn(key).into()) };
        let tree = Tree::open(&store.tree)?;
        let point = tree.point_with_files(&store.objects, &key)?;
        let changes = match tree.changes_in(&store.objects, &key) {
            // It is shown as what it is.
            Err(Error::Expired(_) | Error::Failed(_)) => checkpoint::Changes::default(),
            changes => changes?,
        };
        Ok(ShowCheckpointResponse {
            checkpoint: describe(&point),
            root: home.root.into(),
            recorded: point.recorded.into_iter().map(Into::into).collect(),
            changes: changes.0.iter().map(describe_change).collect(),
        })
    }

    pub(crate) fn diff_checkpoints(
        &self,
        request: &DiffCheckpointsRequest,
    ) -> Result<DiffCheckpointsResponse, ApiError> {
        let home = Home::find(self, &request.directory.0)?;
        let from = turn_key(&request.session, request.from)?;
        let to = request.to.map(|to| turn_key(&request.session, to)).transpose()?;
        let Some(store) = home.find_store()? else { return Err(Error::NoSuchTurn(from).into()) };
        let changes = Tree::open(&store.tree)?.changes_from(&store.objects, &from, to.as_ref())?;
        let difference = diff(&store.objects, changes, detail(request.detail))?;
        Ok(DiffCheckpointsResponse {
            from: request.from,
            to: request.to,
            files: difference
                .files
                .iter()
                .map(|file| describe_difference(file, request.detail))
                .collect(),
            truncated: difference.is_truncated,
        })
    }
}
